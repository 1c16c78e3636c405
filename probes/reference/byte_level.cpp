#include "byte_level.hpp"

#include <array>
#include <cstddef>

#include "utf8.hpp"

namespace reference::byte_level {
namespace {

constexpr bool stands_for_itself(std::uint32_t byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

// The 68 bytes that are not printable in Latin-1 are numbered on from U+0100.
constexpr std::uint32_t kFirstStandIn = 0x100;
constexpr std::uint32_t kStandIns = 68;

struct Alphabet {
  std::array<char32_t, 256> characters{};
  std::array<std::uint8_t, kStandIns> stood_in_for{};
};

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  std::uint32_t used = 0;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    if (stands_for_itself(byte)) {
      alphabet.characters[byte] = byte;
    } else {
      alphabet.stood_in_for[used] = static_cast<std::uint8_t>(byte);
      alphabet.characters[byte] = kFirstStandIn + used++;
    }
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t character_of(std::uint8_t byte) { return kAlphabet.characters[byte]; }

std::optional<std::uint8_t> byte_of(char32_t character) {
  if (character < 0x100) {
    if (!stands_for_itself(character)) return std::nullopt;
    return static_cast<std::uint8_t>(character);
  }
  const std::uint32_t index = character - kFirstStandIn;
  if (index >= kStandIns) return std::nullopt;
  return kAlphabet.stood_in_for[index];
}

std::string written(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    utf8::append(text, character_of(utf8::byte_at(bytes, at)));
  }
  return text;
}

void append_bytes(std::string& bytes, std::string_view token) {
  const std::size_t start = bytes.size();
  for (std::size_t at = 0; at < token.size();) {
    const auto [character, length] = utf8::decode(token, at);
    const auto byte = byte_of(character);
    if (!byte) {
      bytes.resize(start);
      bytes.append(token);
      return;
    }
    bytes.push_back(static_cast<char>(*byte));
    at += length;
  }
}

}  // namespace reference::byte_level
