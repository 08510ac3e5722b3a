package places

import (
	"slices"
	"strings"
)

// manager is what installs tools below a home: where it keeps them, and which variables
// name that place where it is another one.
type manager struct {
	name  string
	roots []string // below the home, as glob patterns; without what holds keys
	vars  []string // lists of paths, too
}

// managers has one row a manager.
var managers = []manager{
	{"local", []string{".local/bin", ".local/lib", ".local/include", ".local/opt", "bin", ".bin"}, nil},
	{"go", []string{"go/bin", "go/pkg", "sdk/go*"}, []string{"GOPATH", "GOBIN"}},
	{"gvm", []string{".gvm", ".goenv"}, nil},
	{"nvm", []string{".nvm"}, []string{"NVM_DIR"}},
	{"fnm", []string{
		".fnm", ".local/share/fnm", ".local/state/fnm_multishells", "Library/Application Support/fnm",
	}, []string{"FNM_DIR", "FNM_MULTISHELL_PATH"}},
	{"volta", []string{".volta"}, nil},
	{"node", []string{"n", ".nodenv", ".nodebrew"}, []string{"N_PREFIX"}},
	{"npm", []string{
		".npm-global", ".npm-packages", ".node_modules",
	}, []string{"NPM_CONFIG_PREFIX", "npm_config_prefix"}},
	{"corepack", []string{".cache/node"}, nil},
	{"yarn", []string{".yarn", ".config/yarn/global", ".cache/yarn"}, nil},
	{"pnpm", []string{".local/share/pnpm", ".pnpm-store", "Library/pnpm", ".cache/pnpm"}, nil},
	{"bun", []string{".bun"}, []string{"BUN_INSTALL"}},
	{"deno", []string{".deno", ".cache/deno"}, []string{"DENO_INSTALL", "DENO_DIR"}},
	{"pyenv", []string{".pyenv"}, nil},
	{"python", []string{"Library/Python"}, []string{"PYTHONUSERBASE"}},
	{"uv", []string{
		".local/share/uv", ".cache/uv",
	}, []string{"UV_TOOL_DIR", "UV_PYTHON_INSTALL_DIR", "UV_CACHE_DIR"}},
	{"pipx", []string{".local/pipx", ".local/share/pipx"}, []string{"PIPX_BIN_DIR"}},
	{"poetry", []string{
		".poetry", ".local/share/pypoetry", ".cache/pypoetry", "Library/Application Support/pypoetry",
		"Library/Caches/pypoetry",
	}, []string{"POETRY_CACHE_DIR", "POETRY_VIRTUALENVS_PATH"}},
	{
		"virtualenvs",
		[]string{
			".local/share/virtualenvs", ".virtualenvs", ".local/share/hatch", ".local/share/pdm", ".rye",
		},
		[]string{"VIRTUAL_ENV"},
	},
	{"conda", []string{
		"miniconda*", "anaconda*", "miniforge*", "mambaforge*", "micromamba", ".micromamba", ".conda/envs",
		".conda/pkgs", ".pixi",
	}, nil},
	{"asdf", []string{".asdf"}, []string{"ASDF_DIR", "ASDF_DATA_DIR"}},
	{"mise", []string{
		".local/share/mise", ".local/state/mise", ".cache/mise", ".local/share/rtx",
	}, []string{"MISE_DATA_DIR"}},
	{"versions", []string{
		".proto", ".vfox", ".version-fox", ".aqua", ".local/share/aquaproj-aqua", ".tfenv", ".tenv",
	}, nil},
	{"rustup", []string{".rustup"}, nil},
	{"cargo", []string{".cargo"}, nil},
	{
		"rbenv",
		[]string{".rbenv", ".rvm", ".rubies", ".gem", ".local/share/gem", ".bundle"},
		[]string{"GEM_PATH", "BUNDLE_PATH", "rvm_path"},
	},
	{"sdkman", []string{".sdkman", ".jenv", ".jdks", ".jabba"}, []string{"SDKMAN_DIR"}},
	{"gradle", []string{
		".gradle/wrapper", ".gradle/caches", ".gradle/jdks", ".gradle/native", ".gradle/init.d",
		".gradle/init.gradle*",
	}, nil},
	{"maven", []string{".m2/repository", ".m2/wrapper", ".m2/toolchains.xml", ".m2/extensions.xml"}, nil},
	{"scala", []string{
		".ivy2/cache", ".ivy2/local", ".sbt/boot", ".sbt/launchers", ".cache/coursier", ".local/share/coursier",
		".konan",
	}, nil},
	{"dotnet", []string{".dotnet", ".nuget/packages", ".local/share/NuGet"}, []string{"NUGET_PACKAGES"}},
	{"gcloud", []string{"google-cloud-sdk"}, []string{"CLOUDSDK_ROOT_DIR"}},
	{"haskell", []string{".ghcup", ".cabal/bin", ".cabal/packages", ".cabal/store", ".stack"}, nil},
	{"beam", []string{".kiex", ".kerl", ".mix", ".hex/packages", ".hex/cache.ets", ".cache/rebar3"}, nil},
	{"php", []string{".phpenv", ".composer/vendor", ".config/composer/vendor", ".cache/composer"}, nil},
	{"perl", []string{".plenv", "perl5", ".perlbrew"}, []string{"PERL5LIB"}},
	{"lua", []string{".luarocks"}, nil},
	{"dart", []string{".pub-cache", "flutter", "fvm", ".fvm"}, []string{"PUB_CACHE"}},
	{
		"native",
		[]string{
			".swiftly", ".swiftenv", ".zvm", ".elan", ".opam", ".juliaup", ".julia", ".conan2", ".conan", ".emsdk",
		},
		[]string{"OPAMROOT", "EMSDK", "JULIA_DEPOT_PATH"},
	},
	{"nix", []string{".nix-profile", ".local/state/nix", ".nix-defexpr"}, nil},
	{"brew", []string{".linuxbrew", ".homebrew"}, nil},
	{"android", []string{"Android/Sdk", "Library/Android/sdk"}, nil},
	{"browsers", []string{
		".cache/ms-playwright", ".cache/Cypress", ".cache/puppeteer", "Library/Caches/ms-playwright",
		"Library/Caches/Cypress",
	}, []string{"PLAYWRIGHT_BROWSERS_PATH"}},
	{"caches", []string{
		".cache/go-build", ".cache/pip", ".cache/golangci-lint", ".cache/pre-commit", ".cache/bazel*",
		".cache/ccache", ".ccache",
		".cache/sccache", ".cache/huggingface/hub", ".cache/torch", ".npm", ".cache/mypy", ".cache/ruff",
		".cache/zig",
	}, nil},
	{"git", []string{
		".config/git/ignore", ".config/git/attributes", ".gitignore", ".gitignore_global", ".gitattributes",
	}, nil},
	{"certificates", nil, []string{
		"SSL_CERT_FILE", "SSL_CERT_DIR", "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE",
		"REQUESTS_CA_BUNDLE",
		"PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "AWS_CA_BUNDLE",
	}},
	{"libraries", nil, []string{
		"PYTHONPATH", "NODE_PATH", "CLASSPATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "PKG_CONFIG_PATH",
		"CMAKE_PREFIX_PATH", "GEM_HOME",
	}},
}

// versionNames are files that say which version of a tool is meant.
var versionNames = []string{
	".tool-versions", ".nvmrc", ".node-version", ".python-version", ".ruby-version", ".java-version", ".go-version",
	".sdkmanrc", ".terraform-version", ".rust-toolchain", "rust-toolchain.toml", ".php-version",
}

// toolEndings end the names of variables that name where a tool is.
var toolEndings = []string{"_HOME", "_ROOT", "_PREFIX", "_SDK"}

// noTools are such variables that name something else.
var noTools = []string{"PLAN_HOME", "HEX_HOME", "GNUPG_HOME", "KUBE_HOME", "DOCKER_HOME", "SSH_HOME", "IVY_HOME"}

// namesTools reports whether a variable names where a tool is.
func namesTools(name string) bool {
	if strings.HasPrefix(name, "XDG_") || slices.Contains(noTools, name) {
		return false
	}
	return name == "GOROOT" || slices.ContainsFunc(toolEndings, func(end string) bool {
		return strings.HasSuffix(name, end)
	})
}
