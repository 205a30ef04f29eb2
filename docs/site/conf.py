# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How Sphinx builds the docs site; docs/site/build.py gathers its sources."""

from __future__ import annotations

project = "gpufabric.pyramid"
copyright = "the gpufabric.pyramid authors"
extensions = ["myst_parser", "sphinx_antsibull_ext"]
html_theme = "sphinx_ansible_theme"
html_title = "gpufabric.pyramid"
html_theme_options = {"vcs_pageview_mode": "", "topbar_links": {}}
html_show_sourcelink = False
html_static_path, html_css_files = ["site.css"], ["site.css"]

myst_heading_anchors = 3
# Files of the repository that the pages speak of and the site does not hold.
suppress_warnings = ["myst.xref_missing", "myst.header"]
