package catalog

// The wires that models are spoken to by.
const (
	WireChat      = "chat"      // OpenAI's Chat Completions, which most servers have
	WireResponses = "responses" // OpenAI's Responses
	WireAnthropic = "anthropic" // Anthropic's Messages
)

// The ways a key is sent.
const (
	AuthBearer  = "bearer"    // Authorization: Bearer KEY
	AuthAPIKey  = "api-key"   // api-key: KEY
	AuthXAPIKey = "x-api-key" // x-api-key: KEY
	AuthNone    = "none"
)

// Provider is a server of models that is known by its name.
type Provider struct {
	Name    string
	BaseURL string // "" where each account has its own
	KeyEnv  string // the variable that the key is usually in
	Wire    string // how most of its models are spoken to
	Auth    string // how the key is sent
	Models  int    // how many models are listed with window and prices
}

// Providers lists the usual providers by name, without those of which a key
// alone does not open the door: Bedrock and Vertex sign each request with an
// account's credentials, and Copilot exchanges its key for one of minutes. All
// three can be reached by a gateway, or with a key_command.
func (c *Catalog) Providers() []Provider { return nil }

// Provider finds a provider by its name.
func (c *Catalog) Provider(name string) (Provider, bool) { return Provider{}, false }

// Wire is how a model is spoken to at a provider; "" is a server that is not
// known, where it is chat unless an override says otherwise.
func (c *Catalog) Wire(provider, model string) string { return WireChat }

// At is the provider whose host a base URL is on.
func (c *Catalog) At(baseURL string) (provider string, ok bool) { return "", false }

// LookupAt is Lookup at a provider that is known by its name.
func (c *Catalog) LookupAt(provider, model, baseURL string) (Entry, bool) {
	return c.Lookup(model, baseURL)
}
