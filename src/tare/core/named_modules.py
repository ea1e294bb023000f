"""Find classes by the names of the modules of a package: one module, one class, one name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Generic, TypeVar

from tare.core.errors import ConfigError
from tare.core.model import Scalar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NamedModules(Generic[T]):
    """The modules of a package, such as ``tare.work.workloads``, of which each holds one class.

    ``word`` is what one is called in messages; ``class_name`` is that of the class in each.
    """

    word: str
    package: ModuleType
    class_name: str

    def names(self) -> list[str]:
        """List every module there is, without importing any; ``_name`` is none of them."""
        modules = (module.name for module in iter_modules(self.package.__path__))
        return sorted(name for name in modules if not name.startswith("_"))

    def kind(self, name: str) -> type[T]:
        """Find a class by the name of its module, or raise ConfigError."""
        if name not in (known := self.names()):
            raise ConfigError(f"no {self.word} is called {name!r}; there are: {', '.join(known)}")
        try:
            module = import_module(f"{self.package.__name__}.{name}")
            return getattr(module, self.class_name)  # type: ignore[no-any-return]
        except (ImportError, SyntaxError, AttributeError) as error:  # a plug-in's
            raise ConfigError(f"{self.word} {name} cannot be loaded: {error}") from error

    def load(self, name: str, **params: Scalar) -> T:
        """Make an object from a name and parameters, or raise ConfigError."""
        try:
            return self.kind(name)(**params)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{self.word} {name}: {error}") from None
