"""The hand: collect → load → decide → commit → absorb → answer."""
