"""The settings of a client: read strictly, unknown keys reported, defaults in one place."""

from typing import Any

from core.accounting.kinds import LOCALES
from core.phases.routing import ARM_CHARS, ARM_ROUTES, Route, Routing
from handlers.convert import structure, unknown_fields
from handlers.wire_kinds import NAME, POSITIVE
from handlers.wire_records import choice, field, list_of, object_of, record


@record()
class RouteSetting:
    """Words that point to a skill; a prompt that holds one of them hits the route."""

    words: tuple[str, ...] = field(list_of(NAME), "The words; case does not count.")
    skill: str = field(NAME, "Skill that they point to.")


@record()
class Settings:
    """What a client may set with initializationOptions.turnkeeper."""

    routes: tuple[RouteSetting, ...] = field(
        list_of(object_of(RouteSetting)), "Routes that make a prompt worth a plan.", default=()
    )
    arm_chars: int = field(
        POSITIVE, "Code points from which a prompt is worth a plan.", default=ARM_CHARS
    )
    arm_routes: int = field(
        POSITIVE, "Routes hit from which a prompt is worth a plan.", default=ARM_ROUTES
    )
    locale: str = field(choice(*LOCALES), "Language of row labels.", default="en")

    def routing(self) -> Routing:
        """Give the part that decides which prompts are worth a plan."""
        routes = tuple(Route(route.words, route.skill) for route in self.routes)
        return Routing(routes, self.arm_chars, self.arm_routes)


DEFAULTS = Settings()


def read_settings(data: dict[str, Any]) -> tuple[Settings, list[str]]:
    """Read settings and name the keys that mean nothing here; raise InvalidParams on a fault."""
    return structure(Settings, data), unknown_fields(Settings, data)
