// GPT-2's printable stand-ins for bytes, in which byte-level vocabularies are written: U+0120 (Ġ)
// is the byte 0x20.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reference::byte_level {

char32_t character_of(std::uint8_t byte);

std::optional<std::uint8_t> byte_of(char32_t character);

// Every byte of `bytes` as its character, in UTF-8.
std::string written(std::string_view bytes);

// Appends the bytes that `token` is written for; where any character of it stands for no byte,
// the token's own bytes.
void append_bytes(std::string& bytes, std::string_view token);

}  // namespace reference::byte_level
