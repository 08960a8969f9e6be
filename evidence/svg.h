// Plots of measured figures as inline SVG. Colours come from the page, so that they follow its dark mode.
#pragma once
#include <string>

#include "evidence/figures.h"

namespace tokitai::evidence {

// How many outputs lie how far from the real-number result; counts on a logarithmic scale.
std::string error_histogram(const ErrorFigures& figures);

// Operations per second over operations per byte, under the roof that the copy bandwidth of the same run puts up.
std::string roofline(const SpeedFigures& figures);

}  // namespace tokitai::evidence
