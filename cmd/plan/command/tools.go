package command

import (
	"context"

	"github.com/spf13/cobra"
)

// Tools is what the command tools does.
type Tools struct {
	List  func(ctx context.Context, refresh bool) error
	Try   func(ctx context.Context, name, args string) error
	Stats func(ctx context.Context, all bool) error
}

// Command is the command tools.
func (t Tools) Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "See, try and judge the tools that come from outside",
		Long: `Tools from outside are those of MCP servers: [mcp.NAME] in your config.toml, and the
.mcp.json and settings of a repository once you have trusted them (plan trust).

Explore, Plan and Review have those that only read: the server has to say so, and
you, with read_only = ["get_*"]. All others are Implement's, and ask first unless a
rule such as tool = "mcp.github.*" allows them.`,
		Example: `  plan tools list --refresh
  plan tools try mcp.github.get_issue '{"number": 7}'
  plan tools stats`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var refresh, all bool
	list := &cobra.Command{
		Use:   "list",
		Short: "List the tools from outside, and where they come from",
		Long: `Servers that were never asked for their tools are started, behind the walls of
Explore; the others are listed as they were last seen.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return t.List(cmd.Context(), refresh) },
	}
	list.Flags().BoolVar(&refresh, "refresh", false, "ask all servers again")
	try := &cobra.Command{
		Use:   "try TOOL [ARGUMENTS]",
		Short: "Call a tool once, and see what a model would read",
		Long: `The server is started behind the walls of Explore for a tool that only reads, and
behind those of Implement for any other, which is then called: nothing asks again.`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.Try(cmd.Context(), args[0], append(args, "{}")[1])
		},
	}
	stats := &cobra.Command{
		Use:   "stats",
		Short: "Show how often tools were offered, called, and failed",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return t.Stats(cmd.Context(), all) },
	}
	stats.Flags().BoolVar(&all, "all", false, "in every repository")
	cmd.AddCommand(list, try, stats)
	return cmd
}
