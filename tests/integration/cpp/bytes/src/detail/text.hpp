#pragma once

// The one text that shows the defect.
#define BYTES_TEXT "planted"
