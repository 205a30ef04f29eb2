# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A text is compiled once for all hosts, and rendered with each host's own values."""

from __future__ import annotations

import typing as t

import jinja2
import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.gpufabric.pyramid.plugins.plugin_utils.run.compiled_templates import compiled_once

ADDRESS = trust_as_template("10.{{ rail }}.0.{{ inventory_hostname | regex_search('[0-9]+$') | int }}/16")


def rendered(text: t.Any, **values: t.Any) -> t.Any:
    """A text by a templar of its own, as Ansible makes one for each host."""
    return Templar(loader=DataLoader(), variables=values).template(text)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that Jinja parsed."""
    texts: list[str] = []
    whole = jinja2.Environment._parse

    def parse(self: jinja2.Environment, source: str, *given: t.Any) -> t.Any:
        texts.append(source)
        return whole(self, source, *given)

    monkeypatch.setattr(jinja2.Environment, "_parse", parse)
    return texts


def test_each_host_has_its_own_value_of_a_text_that_is_parsed_once(parsed: list[str]) -> None:
    with compiled_once():
        found = [rendered(ADDRESS, rail=50, inventory_hostname=f"gpu{number:02}") for number in (1, 2, 33)]
    assert found == ["10.50.0.1/16", "10.50.0.2/16", "10.50.0.33/16"] and parsed == [ADDRESS]


def test_afterwards_and_after_an_error_each_text_is_compiled_again(parsed: list[str]) -> None:
    own = jinja2.Environment.compile
    with pytest.raises(ZeroDivisionError), compiled_once():
        rendered(ADDRESS, rail=50, inventory_hostname="gpu01")
        raise ZeroDivisionError
    assert jinja2.Environment.compile is own
    for _time in range(2):
        rendered(ADDRESS, rail=50, inventory_hostname="gpu01")
    assert len(parsed) == 3


def test_the_delimiters_of_a_text_are_part_of_it() -> None:
    text = "<< one >> {{ one }}"
    plain, other = jinja2.Environment(), jinja2.Environment(variable_start_string="<<", variable_end_string=">>")
    with compiled_once():
        assert [one.from_string(text).render(one=1) for one in (plain, other, plain)] == ["<< one >> 1", "1 {{ one }}", "<< one >> 1"]


def test_a_text_that_cannot_be_compiled_is_an_error_for_each_host() -> None:
    with compiled_once():
        for _time in range(2):
            with pytest.raises(jinja2.TemplateSyntaxError):
                jinja2.Environment().from_string("{{ one")
