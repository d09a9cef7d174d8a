"""What this build is and what it runs on here."""

from . import _ufunc
from .backends import BACKENDS


def show_config(mode: str = "stdout") -> dict[str, object] | None:
    """Show the version, the compiler, the kernel levels, the threads and the back ends.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        "stdout" prints, "dicts" returns a dictionary, as in `numpy.show_config`.

    Returns
    -------
    dict or None
        With ``mode="dicts"``: "version", "compiler", "levels" (with "built", "usable", "chosen"
        and "missing", which tells why), "threads" and "backends" (name to "available", or why it
        is not).

    Raises
    ------
    ValueError
        If `mode` is another.
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"`mode` must be 'stdout' or 'dicts', got {mode!r}")
    config: dict[str, object] = {
        "version": _ufunc.__version__,
        "compiler": _ufunc._compiler(),
        "levels": {
            "built": list(_ufunc._built_levels()),
            "usable": list(_ufunc._levels()),
            "chosen": _ufunc._chosen_level(),
            "missing": _ufunc._missing_levels(),
        },
        "threads": _ufunc.get_num_threads(),
        "backends": {
            name: "available" if backend.is_available() else backend.why_not()
            for name, backend in BACKENDS.items()
        },
    }
    if mode == "dicts":
        return config
    print_section(config, "")
    return None


def print_section(section: dict[str, object], indent: str) -> None:
    for key, value in section.items():
        if value == {}:
            continue
        if isinstance(value, dict):
            print(f"{indent}{key}:")
            print_section(value, indent + "  ")
        else:
            shown = ", ".join(value) if isinstance(value, list) else value
            print(f"{indent}{key}: {shown}")
