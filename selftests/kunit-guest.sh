#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# In the guest of selftests/kunit.sh: the suites run while the module is loaded; what they say
# stands in the kernel's log, which the host reads.
insmod "$LAB_MODULE" && rmmod metaroce
