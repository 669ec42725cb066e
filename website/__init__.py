"""The documentation site: staged from docs/, completed by generated pages, built by Zensical."""
