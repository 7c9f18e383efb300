// The order of decisions: when each was measured, corrected so that a clock which jumps back cannot reverse it.
#pragma once
#include <string>
#include <string_view>

namespace gemmsmith {

// "2026-12-01T11:08:14Z", a moment of the calendar in UTC. Such texts compare as the moments do.
bool is_timestamp(std::string_view);

// A stamp is a timestamp and a count, "2026-12-01T11:08:14Z+000002". Stamps compare as texts. This is a hybrid logical
// clock (Kulkarni, Demirbas, Madappa, Avva, Leone 2014) in the coarse: the moment of measuring, or that of the decision
// before it if the clock says that it is not later, with the count one up. So a decision follows those that its store
// had when it was saved, and decisions of different machines are in the order in which they were measured.
bool is_stamp(std::string_view);
// The stamp of a decision that was measured at `measured_at` and follows `last` ("" if it is the first). A time that is
// not known counts as 1970.
std::string stamp_after(std::string_view last, std::string_view measured_at);

}  // namespace gemmsmith
