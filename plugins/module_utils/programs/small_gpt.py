# Copyright (c) 2026, the gpufabric.pyramid authors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small GPT in plain torch, and made-up text for it."""

from __future__ import annotations

import math

# Name: layers, width, heads, length, sequences a rank, vocabulary.
SIZES = {
    "tiny": (2, 64, 4, 32, 2, 256),
    "small": (12, 1024, 16, 1024, 8, 32768),
    "medium": (24, 2048, 16, 2048, 8, 32768),
    "large": (24, 2560, 20, 2048, 12, 32768),
}


def model_of(torch, layers, width, heads, length, vocabulary):
    """A GPT: causal self-attention and a feed-forward of four times the width, before each a normalisation."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        """One layer."""

        def __init__(self):
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            """Attend, then feed forward."""
            batch, length, _width = x.shape
            parts = (part.view(batch, length, heads, width // heads).transpose(1, 2) for part in self.mixed(self.before(x)).split(width, dim=2))
            x = x + self.out(_attended(torch, *parts).transpose(1, 2).reshape(batch, length, width))
            return x + self.narrow(functional.gelu(self.wide(self.between(x))))

    class Model(nn.Module):
        """Tokens in, loss out."""

        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block() for _layer in range(layers))
            self.last, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens, targets):
            """The mean loss of the next tokens."""
            x = self.words(tokens) + self.places.weight[: tokens.shape[1]]
            for block in self.blocks:
                x = block(x)
            return functional.cross_entropy(self.head(self.last(x)).flatten(0, 1), targets.flatten())

    torch.manual_seed(1234)
    return Model(), Block


def _attended(torch, query, key, value):
    if hasattr(torch.nn.functional, "scaled_dot_product_attention"):
        return torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
    # torch before 2.0
    length = query.shape[-2]
    later = torch.ones(length, length, dtype=torch.bool, device=query.device).triu(1)
    return (query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])).masked_fill(later, float("-inf")).softmax(-1) @ value


def tokens_of(torch, device, step, rank, sequences, length, vocabulary):
    """Made-up text with something to learn: each token follows from the one before, but for some noise."""
    made = torch.Generator().manual_seed(step * 100003 + rank)
    first = torch.randint(0, vocabulary, (sequences, 1), generator=made)
    noise = torch.randint(0, 3, (sequences, length), generator=made).cumsum(1)
    text = torch.cat([first, first + noise], dim=1) % min(vocabulary, 257)
    return text[:, :-1].to(device), text[:, 1:].to(device)
