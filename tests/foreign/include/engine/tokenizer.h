#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace engine {

using Pair = std::pair<std::string, std::string>;

// What a tokenizer.json says, as far as this engine reads it.
struct Vocabulary {
  std::map<std::string, int> ids;
  std::map<Pair, int> ranks;
  std::map<std::string, int> added;

  static Vocabulary read(const std::string& json);
};

class Tokenizer {
 public:
  static Tokenizer from_file(const std::string& path);

  std::vector<int> encode(const std::string& text) const;

 private:
  void encode_word(const std::string& word, std::vector<int>& ids) const;
  void encode_text(const std::string& text, std::vector<int>& ids) const;

  Vocabulary vocabulary_;
};

}  // namespace engine
