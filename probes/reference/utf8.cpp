#include "utf8.hpp"

namespace reference::utf8 {
namespace {

// What may follow a lead byte: how many bytes, and the bounds of the first of them, which are what
// keeps out overlong forms, surrogates, and everything above U+10FFFF (Unicode, table 3-7).
struct Continuation {
  std::size_t count;
  std::uint8_t low;
  std::uint8_t high;
};

Continuation continuation_of(std::uint8_t lead) {
  if (lead >= 0xC2 && lead <= 0xDF) return {1, 0x80, 0xBF};
  if (lead == 0xE0) return {2, 0xA0, 0xBF};
  if (lead == 0xED) return {2, 0x80, 0x9F};
  if (lead >= 0xE1 && lead <= 0xEF) return {2, 0x80, 0xBF};
  if (lead == 0xF0) return {3, 0x90, 0xBF};
  if (lead >= 0xF1 && lead <= 0xF3) return {3, 0x80, 0xBF};
  if (lead == 0xF4) return {3, 0x80, 0x8F};
  return {0, 0, 0};
}

struct Subpart {
  std::size_t length;  // in bytes; never 0
  bool complete;
};

Subpart maximal_subpart(std::string_view text, std::size_t at) {
  const std::uint8_t lead = byte_at(text, at);
  if (lead < 0x80) return {1, true};
  const Continuation expected = continuation_of(lead);
  if (expected.count == 0) return {1, false};
  std::uint8_t low = expected.low;
  std::uint8_t high = expected.high;
  for (std::size_t i = 1; i <= expected.count; ++i) {
    if (at + i >= text.size()) return {i, false};
    const std::uint8_t byte = byte_at(text, at + i);
    if (byte < low || byte > high) return {i, false};
    low = 0x80;
    high = 0xBF;
  }
  return {expected.count + 1, true};
}

}  // namespace

Decoded decode(std::string_view valid, std::size_t at) {
  const std::uint8_t lead = byte_at(valid, at);
  if (lead < 0x80) return {lead, 1};
  const auto more = [&](std::size_t i) {
    return static_cast<char32_t>(byte_at(valid, at + i) & 0x3FU);
  };
  if (lead < 0xE0) return {(static_cast<char32_t>(lead & 0x1FU) << 6U) | more(1), 2};
  if (lead < 0xF0) {
    return {(static_cast<char32_t>(lead & 0x0FU) << 12U) | (more(1) << 6U) | more(2), 3};
  }
  const char32_t top = static_cast<char32_t>(lead & 0x07U) << 18U;
  return {top | (more(1) << 12U) | (more(2) << 6U) | more(3), 4};
}

std::size_t well_formed_length(std::string_view text, std::size_t at) {
  const Subpart part = maximal_subpart(text, at);
  return part.complete ? part.length : 0;
}

std::size_t before(std::string_view valid, std::size_t at) {
  do {
    --at;
  } while (at > 0 && (byte_at(valid, at) & 0xC0U) == 0x80U);
  return at;
}

void append(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) {
    text.push_back(static_cast<char>(static_cast<std::uint8_t>(byte)));
  };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0U | (code >> 6U));
    put(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    put(0xE0U | (code >> 12U));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  } else {
    put(0xF0U | (code >> 18U));
    put(0x80U | ((code >> 12U) & 0x3FU));
    put(0x80U | ((code >> 6U) & 0x3FU));
    put(0x80U | (code & 0x3FU));
  }
}

bool is_valid(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = well_formed_length(text, at);
    if (length == 0) return false;
    at += length;
  }
  return true;
}

std::string lossy(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Subpart part = maximal_subpart(text, at);
    if (part.complete) {
      valid.append(text.substr(at, part.length));
    } else {
      append(valid, kReplacement);
    }
    at += part.length;
  }
  return valid;
}

}  // namespace reference::utf8
