// The pre-tokenizer stage: Split and ByteLevel, and sequences of them that end in one ByteLevel.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "characters.hpp"
#include "json.hpp"
#include "pattern.hpp"

namespace reference {

// The pieces of one text. Their own bytes: the model, not this stage, writes them in the byte-level
// alphabet, so that "Ġ" never shows.
class Pieces {
 public:
  explicit Pieces(std::string_view text);

  const std::vector<std::string_view>& all() const { return all_; }

 private:
  friend class PreTokenizer;

  std::vector<std::string_view> all_;
  std::deque<std::string> made_;  // pieces that were given a space, and so are not in the text
};

class PreTokenizer {
 public:
  // Throws tokparity::Unsupported naming what is neither, or an unknown pattern or behaviour.
  static PreTokenizer read(const json::Value& description);

  // `text` must be valid UTF-8 and outlive the pieces. No piece is empty.
  Pieces apply(std::string_view text);

 private:
  enum class Kept { kBoth, kMatches, kRest };
  struct Step {
    bool prefix_space;
    Pattern pattern;  // nullptr where the step splits nothing
    Kept kept;
  };

  static Step read_split(const json::Value& description);
  void split(std::string_view piece, const Step& step, std::vector<std::string_view>& parts);

  std::vector<Step> steps_;
  Characters characters_;
};

}  // namespace reference
