"""Tables of LaTeX commands and their Unicode characters, for :mod:`ibpcl.classroom.mathml`."""

GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ",
    "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "varpi": "ϖ", "rho": "ρ",
    "varrho": "ϱ", "sigma": "σ", "varsigma": "ς", "tau": "τ", "upsilon": "υ", "phi": "ϕ",
    "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ", "Phi": "Φ",
    "Psi": "Ψ", "Omega": "Ω",
}
LETTERS = {
    **GREEK, "ell": "ℓ", "infty": "∞", "partial": "∂", "nabla": "∇", "hbar": "ℏ", "emptyset": "∅",
    "varnothing": "∅", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ", "imath": "ı", "jmath": "ȷ", "top": "⊤",
    "bot": "⊥", "#": "#", "%": "%", "$": "$", "_": "_",
    "angle": "∠", "prime": "′", "dots": "…", "ldots": "…", "cdots": "⋯", "vdots": "⋮",
    "ddots": "⋱", "square": "□", "Box": "□", "blacksquare": "■", "checkmark": "✓",
}
OPERATORS = {
    "cdot": "⋅", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "ast": "∗", "star": "⋆",
    "circ": "∘", "bullet": "∙", "odot": "⊙", "oplus": "⊕", "ominus": "⊖", "otimes": "⊗",
    "oslash": "⊘", "cap": "∩", "cup": "∪", "setminus": "∖", "wedge": "∧", "land": "∧", "vee": "∨",
    "lor": "∨", "neg": "¬", "lnot": "¬", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠",
    "ne": "≠", "approx": "≈", "equiv": "≡", "sim": "∼", "simeq": "≃", "cong": "≅",
    "propto": "∝", "ll": "≪", "gg": "≫", "lesssim": "≲", "gtrsim": "≳", "in": "∈",
    "notin": "∉", "ni": "∋", "subset": "⊂", "supset": "⊃", "subseteq": "⊆", "supseteq": "⊇",
    "forall": "∀", "exists": "∃", "mid": "∣", "parallel": "∥", "perp": "⊥", "to": "→",
    "rightarrow": "→", "leftarrow": "←", "leftrightarrow": "↔", "Rightarrow": "⇒",
    "Leftarrow": "⇐", "Leftrightarrow": "⇔", "implies": "⟹", "impliedby": "⟸", "iff": "⟺",
    "mapsto": "↦", "longrightarrow": "⟶", "longmapsto": "⟼", "uparrow": "↑", "downarrow": "↓",
    "colon": ":", "coloneqq": "≔", "doteq": "≐", "triangleq": "≜", "therefore": "∴",
    "because": "∵", "models": "⊨", "vdash": "⊢", "&": "&", "backslash": "∖",
}
BIG = {
    "sum": "∑", "prod": "∏", "coprod": "∐", "bigcup": "⋃", "bigcap": "⋂", "bigoplus": "⨁",
    "bigotimes": "⨂", "bigodot": "⨀", "bigvee": "⋁", "bigwedge": "⋀",
}
INTEGRALS = {"int": "∫", "iint": "∬", "iiint": "∭", "oint": "∮"}
FENCES = {
    "{": "{", "}": "}", "lbrace": "{", "rbrace": "}", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊",
    "rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "|": "‖", "Vert": "‖", "lVert": "‖", "rVert": "‖",
    "vert": "|", "lvert": "|", "rvert": "|", "lbrack": "[", "rbrack": "]",
}
FUNCTIONS = {
    "log", "ln", "lg", "exp", "sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh",
    "coth", "arcsin", "arccos", "arctan", "arg", "deg", "det", "dim", "gcd", "hom", "ker", "Pr",
    "erf", "sign", "softmax", "diag", "tr",
}
LIMITS = {"lim", "max", "min", "sup", "inf", "limsup", "liminf", "argmax", "argmin"}
ACCENTS = {
    "hat": "^", "widehat": "^", "bar": "¯", "overline": "‾", "tilde": "~", "widetilde": "~",
    "vec": "→", "overrightarrow": "→", "dot": "˙", "ddot": "¨", "check": "ˇ", "breve": "˘",
    "mathring": "˚",
}
SPACES = {
    ",": "0.17em", ":": "0.22em", ">": "0.22em", ";": "0.28em", "!": "-0.17em", " ": "0.25em",
    "quad": "1em", "qquad": "2em", "enspace": "0.5em", "thinspace": "0.17em",
}
# The first code point of each alphabet in Unicode's block "Mathematical Alphanumeric Symbols":
# capital letters, small letters, digits; 0 where the alphabet has none.
ALPHABETS = {
    "bold": (0x1D400, 0x1D41A, 0x1D7CE), "script": (0x1D49C, 0x1D4B6, 0),
    "double": (0x1D538, 0x1D552, 0x1D7D8), "fraktur": (0x1D504, 0x1D51E, 0),
    "sans": (0x1D5A0, 0x1D5BA, 0x1D7E2), "mono": (0x1D670, 0x1D68A, 0x1D7F6),
}
# Letters that Unicode had before that block; their places in it are empty.
ELSEWHERE = {
    "script": dict(zip("BEFHILMRego", "ℬℰℱℋℐℒℳℛℯℊℴ", strict=True)),
    "double": dict(zip("CHNPQRZ", "ℂℍℕℙℚℝℤ", strict=True)),
    "fraktur": dict(zip("CHIRZ", "ℭℌℑℜℨ", strict=True)),
}
FONTS = {
    "mathbf": "bold", "boldsymbol": "bold", "bm": "bold", "pmb": "bold", "mathcal": "script",
    "mathscr": "script", "mathbb": "double", "mathfrak": "fraktur", "mathsf": "sans",
    "mathtt": "mono", "mathrm": "upright", "mathit": "", "mathnormal": "", "operatorname": "name",
    "operatorname*": "name", "text": "text", "textrm": "text", "mbox": "text", "textit": "text",
    "textbf": "text", "textup": "text", "texttt": "code",
}
MATRICES = {
    "matrix": ("", ""), "smallmatrix": ("", ""), "array": ("", ""), "pmatrix": ("(", ")"),
    "bmatrix": ("[", "]"), "Bmatrix": ("{", "}"), "vmatrix": ("|", "|"), "Vmatrix": ("‖", "‖"),
    "cases": ("{", ""),
}
ALIGNED = {
    "align", "align*", "aligned", "alignat", "alignat*", "split", "eqnarray", "eqnarray*",
    "gather", "gather*", "gathered", "equation", "equation*", "multline", "multline*", "math",
    "displaymath",
}


def alphabet(text, font):
    """Return letters and digits in one of Unicode's mathematical alphabets.

    Parameters
    ----------
    text : str
    font : str
        A key of :data:`ALPHABETS`.

    Examples
    --------
    >>> alphabet("N1", "bold"), alphabet("L", "script")
    ('𝐍𝟏', 'ℒ')
    """
    capital, small, digit = ALPHABETS[font]
    known = ELSEWHERE.get(font, {})
    changed = []
    for character in text:
        if character in known:
            changed.append(known[character])
        elif "A" <= character <= "Z":
            changed.append(chr(capital + ord(character) - ord("A")))
        elif "a" <= character <= "z":
            changed.append(chr(small + ord(character) - ord("a")))
        elif "0" <= character <= "9" and digit:
            changed.append(chr(digit + ord(character) - ord("0")))
        else:
            changed.append(character)
    return "".join(changed)
