"""All recipes by the name of their drafter; one corpus serves them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from glance.targets.base import Target
from glance.training.recipe import Recipe
from glance.training.recipe_eagle2 import Eagle2Recipe
from glance.training.recipe_eagle3 import Eagle3Recipe
from glance.training.recipe_glance import GlanceRecipe
from glance.training.recipe_hivis import HiViSRecipe
from glance.training.recipe_medusa import MedusaRecipe
from glance.training.recipe_vispec import ViSpecRecipe

#: in the order of training; the last one's sampled answers are drawn meanwhile
RECIPES: dict[str, type[Recipe]] = {
    recipe.name: recipe
    for recipe in (
        GlanceRecipe,
        Eagle3Recipe,
        Eagle2Recipe,
        MedusaRecipe,
        HiViSRecipe,
        ViSpecRecipe,
    )
}


def all_taps(
    target: Target,
    given: Mapping[str, Any] | None = None,  # by name, heads that are there already
    names: Iterable[str] = tuple(RECIPES),
) -> tuple[int, ...]:
    """Every tap that these kinds of heads learn from, ascending."""
    heads = given or {}
    taps = (RECIPES[name].taps(target, heads.get(name)) for name in names)
    return tuple(sorted({tap for own in taps for tap in own}))
