// Canaries: instructions whose answers are known, run in every emulated lane before anything is
// believed.
//
// Output, one line each, flushed:
//
//   tokparity-canary/1
//   NAME EXPECTED OBSERVED        two words of sixteen hexadecimal digits; right where they are
//   equal
//   ...
//   done COUNT                    how many NAME lines there were
//
// No argument, no input, exit status 0. The emulator is to be believed where every line is right,
// no name repeats, and the last line is there with the right count. Needs -pthread and nothing
// else. TOKPARITY_PLANT_WRONG_CANARY plants a wrong answer, for the tests of whoever reads this.
#include "bytes.hpp"
#include "check.hpp"
#include "floating.hpp"
#include "integer.hpp"
#include "known_bugs.hpp"
#include "threads.hpp"

int main() {
  std::puts("tokparity-canary/1");
  canary::integer();
  canary::floating();
  canary::bytes();
  canary::known_bugs();
#ifdef TOKPARITY_PLANT_WRONG_CANARY
  canary::check("planted.wrong", 2, canary::opaque<std::uint64_t>(3));
#endif
  canary::threads();
  std::printf("done %d\n", canary::count());
}
