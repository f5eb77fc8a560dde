# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
#
# `make help` explains the targets. (Kbuild reads the file Kbuild, not this.)

KERNELS ?= 6.1 6.12
INSTALL ?= yes
KVER    ?= $(shell uname -r)
KDIR    ?= /lib/modules/$(KVER)/build
PREFIX  ?= /usr
ifeq ($(CACHE),)
CACHE   := $(if $(filter 0,$(shell id -u)),/var/cache/metaroce,$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/metaroce)
endif
BUILD   := $(CURDIR)/build
export KERNELS INSTALL CACHE BUILD SUITES LONG JOBS

MAKEFLAGS += --no-print-directory
LAB     := selftests/lab
need     = @scripts/prereq.sh $(1)
MULTIARCH = $(shell gcc -print-multiarch)
LIBDIR  ?= $(PREFIX)/lib/$(MULTIARCH)
# the module that was built against KDIR
module   = $(BUILD)/module/$(notdir $(patsubst %/build,%,$(realpath $(KDIR))))/drivers/infiniband/sw/metaroce/metaroce.ko

.PHONY: all modules provider tools user install uninstall demo check check-unit \
	check-lab check-long kunit curves curves-smoke lint fetch-kernels shell clean help
.DEFAULT_GOAL := all

all: modules user ## Build everything (the default)

modules: ## Build the module: for the running kernel, or else for each fetched one
	$(call need,modules)
	@set -e; if [ -e "$(KDIR)/Makefile" ]; then \
		$(LAB)/build-module.sh "$(KDIR)"; \
		echo "built $(module)"; \
	else \
		found=; for k in $(KERNELS); do \
			[ -e "$(CACHE)/kernels/$$k/release" ] || continue; \
			$(LAB)/build-module.sh $$k; found=yes; \
			echo "built the module for $$k in $(BUILD)/module/$$k"; \
		done; \
		[ -n "$$found" ] || { echo "no headers in $(KDIR) (package linux-headers-$(KVER))" \
			"and no fetched kernels (make fetch-kernels)" >&2; exit 1; }; \
	fi

user: ## Build programs and provider into build/user
	$(call need,user)
	@scripts/user.sh build

provider: ## Build the rdma-core provider only
	$(call need,user)
	@scripts/user.sh build metaroce

tools: user ## Build the programs (and the provider with them)

install: ## Install module, provider and programs (DESTDIR, PREFIX, KVER)
	@test -e "$(module)" || { echo "no module for $(KVER): run 'make' first" >&2; exit 1; }
	@test -d $(BUILD)/user/lib || { echo "no provider: run 'make' first" >&2; exit 1; }
	install -D -m 644 $(module) $(DESTDIR)/lib/modules/$(KVER)/updates/metaroce.ko
	$(if $(DESTDIR),,depmod $(KVER))
	install -d $(DESTDIR)$(LIBDIR)/libibverbs $(DESTDIR)/etc/libibverbs.d
	install -m 755 $(BUILD)/user/lib/libmetaroce-rdmav*.so $(DESTDIR)$(LIBDIR)/libibverbs/
	echo 'driver metaroce' >$(DESTDIR)/etc/libibverbs.d/metaroce.driver
	install -d $(DESTDIR)$(PREFIX)/bin
	for p in $(BUILD)/user/bin/metaroce*; do case $$p in \
		*_test|*_tests) ;; \
		*) install -m 755 $$p $(DESTDIR)$(PREFIX)/bin/ || exit ;; esac; done
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 Documentation/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -d $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 Documentation/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8/
	install -D -m 644 tools/metaroce/completion.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/metaroce

uninstall: ## Remove what install installed
	rm -f $(DESTDIR)/lib/modules/$(KVER)/updates/metaroce.ko
	$(if $(DESTDIR),,depmod $(KVER))
	rm -f $(DESTDIR)$(LIBDIR)/libibverbs/libmetaroce-rdmav*.so
	rm -f $(DESTDIR)/etc/libibverbs.d/metaroce.driver
	rm -f $(DESTDIR)$(PREFIX)/bin/metaroce $(DESTDIR)$(PREFIX)/bin/metaroce-*
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/metaroce*.1
	rm -f $(DESTDIR)$(PREFIX)/share/man/man8/metaroce*.8
	rm -f $(DESTDIR)$(PREFIX)/share/bash-completion/completions/metaroce

demo: ## Two virtual hosts talk over metaroce, in a VM on this machine
	$(call need,demo)
	@selftests/demo.sh

check: ## All tests: unit, lint, builds, and the suites on each kernel
	$(call need,check)
	@scripts/check.sh

check-unit: ## Unit tests only
	$(call need,unit)
	@scripts/check.sh unit

check-lab: ## Suites in VMs only (SUITES="01-lab-rxe ..." KERNELS="6.1")
	$(call need,check)
	@scripts/check.sh modules user lab

check-long: ## The suites that take long; records in Documentation/results
	$(call need,check)
	@rc=0; LONG=only scripts/check.sh modules user lab || rc=$$?; \
		selftests/record.sh check-long $(BUILD)/check/lab.tap; exit $$rc

kunit: ## The KUnit suites, in a User-Mode Linux kernel that is built once
	$(call need,vt)
	@selftests/kunit.sh

curves: ## Exact figures in virtual time, with plots, in Documentation/results (TABLES="...")
	$(call need,curves)
	@scripts/user.sh build >/dev/null
	@selftests/curves/run.sh $(TABLES)

curves-smoke: ## Some of the figures, in two minutes, against Documentation/results/curves-golden.json
	$(call need,curves)
	@scripts/user.sh build >/dev/null
	@selftests/curves/smoke.sh

lint: ## Linters: W=1, sparse, checkpatch, clang-tidy, shellcheck, own rules
	$(call need,lint)
	@scripts/check.sh lint

fetch-kernels: ## Fetch Debian's stock kernels into $(CACHE)
	$(call need,fetch)
	@$(LAB)/kernels.sh $(KERNELS)

shell: ## An interactive guest with the module built (KERNELS="6.12" chooses)
	$(call need,lab)
	@$(LAB)/build-module.sh $(firstword $(KERNELS))
	@scripts/user.sh build
	@$(LAB)/shell.sh --kernel $(firstword $(KERNELS))

clean: ## Remove build/ (fetched kernels stay in $(CACHE))
	rm -rf $(BUILD)

help: ## This list
	@echo 'Targets:'
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1|\2/p' $(firstword $(MAKEFILE_LIST)) | \
		sed 's|\$$(CACHE)|$(CACHE)|' | awk -F'|' '{ printf "%-16s %s\n", $$1, $$2 }'
	@echo
	@echo 'Variables:'
	@echo '  CACHE=DIR        where fetched things stay (now $(CACHE))'
	@echo '  KERNELS="..."    kernels to build for and to test on (now $(KERNELS))'
	@echo '  INSTALL=no       name missing Debian packages instead of installing them'
	@echo '  SUITES="..."     run these suites of selftests/suites only'
	@echo '  KDIR=DIR KVER=V  build for, install to another kernel than the running one'
	@echo '  DESTDIR= PREFIX= LIBDIR=   for install'
