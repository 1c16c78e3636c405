#include "tokenizer.hpp"

#include <optional>

#include "part.hpp"
#include "utf8.hpp"

namespace reference {
namespace {

json::Value checked(const json::Value& root) {
  if (!root.is_object() || root["model"].is_null()) {
    malformed("tokenizer.json", "expected an object with a model");
  }
  const json::Value version = root["version"];
  if (!version.is_null() && version.text() != "1.0") {
    refuse("version", version.text());
  }
  return root;
}

Normalizer read_normalizer(const json::Value& description, Options options) {
  Normalizer normalizer = Normalizer::read(description);
  if (options.without_nfc) normalizer.leave_out_nfc();
  return normalizer;
}

// `text` itself where it is valid, else `storage`, which then holds it made valid.
std::string_view made_valid(std::string_view text, std::string& storage) {
  if (utf8::is_valid(text)) return text;
  storage = utf8::lossy(text);
  return storage;
}

}  // namespace

// The parts that are quick to refuse come first: a tokenizer of another kind costs no vocabulary.
Tokenizer::Tokenizer(const std::string& path, Options options)
    : file_(path),
      document_(file_.data(), file_.size()),
      normalizer_(read_normalizer(checked(root())["normalizer"], options)),
      pre_tokenizer_(PreTokenizer::read(root()["pre_tokenizer"])),
      model_(root()["model"]),
      post_processor_(PostProcessor::read(root()["post_processor"])),
      decoder_(Decoder::read(root()["decoder"])),
      added_tokens_(root()["added_tokens"], model_.vocabulary(), normalizer_) {}

std::vector<std::uint32_t> Tokenizer::encode(std::string_view text, bool special) {
  std::string storage;
  std::vector<std::uint32_t> ids;
  for (const AddedTokens::Part& raw : added_tokens_.split_raw(made_valid(text, storage))) {
    if (raw.id) {
      ids.push_back(*raw.id);
      continue;
    }
    const std::string normalized = normalizer_.apply(raw.text);
    for (const AddedTokens::Part& part : added_tokens_.split_normalized(normalized)) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      const Pieces pieces = pre_tokenizer_.apply(part.text);
      for (const std::string_view piece : pieces.all()) model_.append(piece, ids);
    }
  }
  return post_processor_.apply(ids, special);
}

std::string Tokenizer::decode(const std::vector<std::uint32_t>& ids) const {
  std::vector<std::string_view> tokens;
  for (const std::uint32_t id : ids) {
    std::optional<std::string_view> token = added_tokens_.content_of(id);
    if (!token) token = model_.vocabulary().token_of(id);
    if (token) tokens.push_back(*token);
  }
  return decoder_.apply(tokens);
}

std::string Tokenizer::normalize(std::string_view text) const {
  std::string storage;
  return normalizer_.apply(made_valid(text, storage));
}

std::vector<std::string> Tokenizer::pretokenize(std::string_view text) {
  const std::string normalized = normalize(text);
  const Pieces pieces = pre_tokenizer_.apply(normalized);
  return {pieces.all().begin(), pieces.all().end()};
}

}  // namespace reference
