"""Files next to the report: each module here with a ``FILE`` and a ``write`` is an export."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from tare.present.view.study import StudyView


def write_exports(found: StudyView, into: Path) -> list[Path]:
    """Write the file of every export anew; return those that there was something to write for."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    exports = [module for module in modules if hasattr(module, "FILE")]
    written = []
    for export in sorted(exports, key=lambda export: str(export.FILE)):
        path = into / export.FILE
        path.unlink(missing_ok=True)
        export.write(found, path)
        if path.exists():
            written.append(path)
    return written
