// The post-processor stage: ByteLevel (which changes offsets only), TemplateProcessing, and
// sequences of them.
#pragma once

#include <cstdint>
#include <vector>

#include "json.hpp"

namespace reference {

class PostProcessor {
 public:
  // Throws tokparity::Unsupported naming the part that is neither.
  static PostProcessor read(const json::Value& description);

  // A template's text is there with and without special tokens, and as often as it says.
  std::vector<std::uint32_t> apply(const std::vector<std::uint32_t>& text, bool special) const;

 private:
  struct Piece {
    bool text;
    std::vector<std::uint32_t> ids;  // of a special token
  };

  void read_template(const json::Value& description);

  std::vector<Piece> pieces_ = {Piece{true, {}}};
};

}  // namespace reference
