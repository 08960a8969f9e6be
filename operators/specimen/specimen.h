// Every verb of the row pattern at once, for the tests. See operators/specimen/definition.h.
#pragma once
#include "tokitai/device.h"
#include "tokitai/view.h"
