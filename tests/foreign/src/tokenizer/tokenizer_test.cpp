// The engine's own test, with a main of its own: a subject must leave it out.
#include "engine/tokenizer.h"

#include <cstdio>

int main(int argc, char** argv) {
  const auto tokenizer = engine::Tokenizer::from_file(argc > 1 ? argv[1] : "tokenizer.json");
  const bool ok = tokenizer.encode("").empty() && !tokenizer.encode("hello").empty();
  std::puts(ok ? "ok" : "FAILED");
  return ok ? 0 : 1;
}
