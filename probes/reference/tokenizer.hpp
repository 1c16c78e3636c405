// A HuggingFace tokenizer.json, stage by stage: added tokens, normalizer, pre-tokenizer, model,
// post-processor; and back.
//
// Bytes that are no UTF-8 are replaced before anything else: one U+FFFD a maximal subpart.
// `truncation` and `padding` are ignored, as they must be wherever tokens are counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "added_tokens.hpp"
#include "bpe.hpp"
#include "decoder.hpp"
#include "json.hpp"
#include "mapped_file.hpp"
#include "normalizer.hpp"
#include "post_processor.hpp"
#include "pre_tokenizer.hpp"

namespace reference {

struct Options {
  bool without_nfc = false;
};

class Tokenizer {
 public:
  // Throws tokparity::Unsupported naming the part that is not supported, std::runtime_error where
  // the file cannot be read or is no tokenizer.json.
  Tokenizer(const std::string& path, Options options);

  // Tokenizer.encode(text, add_special_tokens=special).ids; added tokens in the text are matched.
  std::vector<std::uint32_t> encode(std::string_view text, bool special);

  // Tokenizer.decode(ids, skip_special_tokens=False); ids without a token are passed over.
  std::string decode(const std::vector<std::uint32_t>& ids) const;

  // The whole text normalized, no added token looked for.
  std::string normalize(std::string_view text) const;

  // The pieces of the whole text, normalized, no added token looked for: the text of each, not its
  // characters in the byte-level alphabet.
  std::vector<std::string> pretokenize(std::string_view text);

 private:
  json::Value root() const { return document_.root(); }

  MappedFile file_;
  json::Document document_;  // its strings lie in the file, those of what follows in both
  Normalizer normalizer_;
  PreTokenizer pre_tokenizer_;
  Bpe model_;
  PostProcessor post_processor_;
  Decoder decoder_;
  AddedTokens added_tokens_;
};

}  // namespace reference
