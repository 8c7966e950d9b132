# Recipes are scripts of their own below scripts/; this file only names them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help build install demo test lint fuzz bench compare soak cross docs clean

FLAGS = . scripts/env &&

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## bin/ambit
	@$(FLAGS) go build -o bin/ambit ./cmd/ambit && echo bin/ambit

install: ## ambit into Go's bin folder
	@scripts/install

demo: ## the main job over a small Go service: run, diff, apply, undo (a minute)
	@scripts/demo

test: ## every test, as root and as a user, with and without user namespaces
	@scripts/test

lint: ## formatting, linters, the floors of the house
	@scripts/lint

fuzz: ## every fuzz target, 20 seconds each (TIME=5m for longer)
	@scripts/fuzz $(or $(TIME),20s)

bench: ## Go benchmarks, seven runs each
	@scripts/bench

compare: ## ambit beside what you would use instead, in one run
	@scripts/compare

soak: ## a thousand rounds of kill -9 and recover (ROUNDS=N for more)
	@scripts/soak $(or $(ROUNDS),1000)

cross: ## build for darwin and linux/arm64
	@scripts/cross

docs: ## the pages that come from the program itself
	@scripts/docs

clean: ## remove bin/
	@rm -rf bin
