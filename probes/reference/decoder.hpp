// The decoder stage: none, ByteLevel, and sequences of ByteLevel.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace reference {

class Decoder {
 public:
  // Throws tokparity::Unsupported naming the part that is no ByteLevel.
  static Decoder read(const json::Value& description);

  // Without a decoder, the tokens with a space between; with one, the text of their bytes, U+FFFD
  // for what is no UTF-8.
  std::string apply(const std::vector<std::string_view>& tokens) const;

 private:
  std::size_t byte_levels_ = 0;
};

}  // namespace reference
