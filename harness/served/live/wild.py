"""Chat templates as servers in the field have them, whatever the model's own says.

They are for recognising a server's text by its length, and leave out tools and thinking.
"""

from collections.abc import Mapping
from types import MappingProxyType

from harness.served.live.template_files import Sourced
from harness.served.live.templates import Template


def _turns(before: str, between: str, after: str, opening: str, *, default: str = "") -> str:
    """Return a template whose turns are ``before`` role ``between`` content ``after``.

    ``default`` is the system message where the conversation has none.
    """
    system = ""
    if default:
        system = (
            "{% if messages[0].role != 'system' %}"
            f"{before}system{between}{default}{after}"
            "{% endif %}"
        )
    return (
        f"{system}{{% for one in messages %}}{before}{{{{ one.role }}}}{between}"
        f"{{{{ one.content }}}}{after}{{% endfor %}}"
        f"{{% if add_generation_prompt %}}{opening}{{% endif %}}"
    )


def _inst(before: str, after: str) -> str:
    """Return a template of ``[INST]`` turns, the system message in front of the first."""
    return (
        "{{ bos_token }}{% set told = namespace(system='') %}{% for one in messages %}"
        "{% if one.role == 'system' %}{% set told.system = one.content ~ '\\n\\n' %}"
        f"{{% elif one.role == 'user' %}}[INST]{before}"
        f"{{{{ told.system ~ one.content }}}}{after}[/INST]{{% set told.system = '' %}}"
        "{% else %} {{ one.content }}{{ eos_token }}{% endif %}{% endfor %}"
    )


_CHATML = ("<|im_start|>", "\n", "<|im_end|>\n", "<|im_start|>assistant\n")
_LLAMA3 = (
    "<|start_header_id|>",
    "<|end_header_id|>\n\n",
    "<|eot_id|>",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
)
_LLAMA31_SYSTEM = (
    "{{ bos_token }}<|start_header_id|>system<|end_header_id|>\n\n"
    "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n"
    "{% if messages[0].role == 'system' %}{{ messages[0].content }}"
    "{% set messages = messages[1:] %}{% endif %}<|eot_id|>"
)
_GEMMA = (
    "{{ bos_token }}{% set told = namespace(system='') %}{% for one in messages %}"
    "{% if one.role == 'system' %}{% set told.system = one.content ~ '\\n\\n' %}{% else %}"
    "<start_of_turn>{{ 'model' if one.role == 'assistant' else one.role }}\n"
    "{{ told.system ~ (one.content | trim) }}<end_of_turn>\n{% set told.system = '' %}"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
)
_LLAMA2 = (
    "{% set told = namespace(system='') %}{% for one in messages %}"
    "{% if one.role == 'system' %}"
    "{% set told.system = '<<SYS>>\\n' ~ one.content ~ '\\n<</SYS>>\\n\\n' %}"
    "{% elif one.role == 'user' %}{{ bos_token }}[INST] "
    "{{ told.system ~ (one.content | trim) }} [/INST]{% set told.system = '' %}"
    "{% else %} {{ one.content | trim }} {{ eos_token }}{% endif %}{% endfor %}"
)

# What a template is given where nothing names the model's own.
_S = {"bos_token": "<s>", "eos_token": "</s>"}

_SOURCES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "ChatML": (_turns(*_CHATML), {}),
    "Qwen2 (ChatML with its default system message)": (
        _turns(*_CHATML, default="You are a helpful assistant."),
        {},
    ),
    "Qwen2.5 (ChatML with its default system message)": (
        _turns(
            *_CHATML,
            default="You are Qwen, created by Alibaba Cloud. You are a helpful assistant.",
        ),
        {},
    ),
    "Qwen3, thinking switched off": (
        _turns(*_CHATML[:3], f"{_CHATML[3]}<think>\n\n</think>\n\n"),
        {},
    ),
    "Llama-3": (
        "{{ bos_token }}" + _turns(*_LLAMA3),
        {"bos_token": "<|begin_of_text|>"},
    ),
    "Llama-3.1": (
        _LLAMA31_SYSTEM + _turns(*_LLAMA3),
        {"bos_token": "<|begin_of_text|>"},
    ),
    "Mistral, first version": (_inst(" ", " "), _S),
    "Mistral, third version": (_inst(" ", ""), _S),
    "Mistral, Tekken": (_inst("", ""), _S),
    "Llama-2": (_LLAMA2, _S),
    "Gemma": (_GEMMA, {"bos_token": "<bos>"}),
    "no template: the messages, a line each": (
        "{% for one in messages %}{{ one.content }}{% if not loop.last %}{{ '\\n' }}{% endif %}"
        "{% endfor %}",
        {},
    ),
    "no template: the messages, joined": (
        "{% for one in messages %}{{ one.content }}{% endfor %}",
        {},
    ),
    "no template: the last message": ("{{ messages[-1].content }}", {}),
}

WILD: Mapping[str, Sourced] = MappingProxyType(
    {name: Sourced(name, Template(*given)) for name, given in _SOURCES.items()}
)
