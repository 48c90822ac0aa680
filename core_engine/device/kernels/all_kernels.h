// Every kernel of kernel_list.h.
#pragma once

#include "core_engine/device/kernels/batch_norm.h"
#include "core_engine/device/kernels/copies.h"
#include "core_engine/device/kernels/dropout.h"
#include "core_engine/device/kernels/elementwise.h"
#include "core_engine/device/kernels/gather.h"
#include "core_engine/device/kernels/kernel_list.h"
#include "core_engine/device/kernels/lines.h"
#include "core_engine/device/kernels/pooling.h"
#include "core_engine/device/kernels/reductions.h"
#include "core_engine/device/kernels/statistics.h"
#include "core_engine/device/kernels/statistics_totals.h"
#include "core_engine/device/kernels/updates.h"
