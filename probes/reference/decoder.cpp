#include "decoder.hpp"

#include "byte_level.hpp"
#include "part.hpp"
#include "utf8.hpp"

namespace reference {

Decoder Decoder::read(const json::Value& description) {
  Decoder decoder;
  for (const json::Value& part : flattened(description, "decoder", "decoders")) {
    const std::string_view type = type_of(part, "decoder");
    if (type != "ByteLevel") refuse("decoder", type);
    ++decoder.byte_levels_;
  }
  if (!description.is_null() && decoder.byte_levels_ == 0) refuse("decoder", "an empty Sequence");
  return decoder;
}

std::string Decoder::apply(const std::vector<std::string_view>& tokens) const {
  std::string text;
  if (byte_levels_ == 0) {
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (i > 0) text.push_back(' ');
      text.append(tokens[i]);
    }
    return text;
  }
  for (const std::string_view token : tokens) byte_level::append_bytes(text, token);
  text = utf8::lossy(text);
  // A second ByteLevel sees what the first has made as one token.
  for (std::size_t again = 1; again < byte_levels_; ++again) {
    std::string bytes;
    byte_level::append_bytes(bytes, text);
    text = utf8::lossy(bytes);
  }
  return text;
}

}  // namespace reference
