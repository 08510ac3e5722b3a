// Command floor is what a turn costs at least: a bare loop over openai-go with
// one tool, streamed, without a journal, a state or a check. With -db each
// message is inserted into SQLite with synchronous=FULL before the loop goes
// on, which is the least that a durable conversation can do. With -raw there is
// no openai-go either, only net/http.
//
// It is a baseline for the benchmarks of plan and no part of it.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3"
	openai "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"
)

func main() {
	dir := flag.String("dir", ".", "read files in `DIR`")
	file := flag.String("db", "", "insert each message into the SQLite database `FILE`")
	phases := flag.String("phases", "explore,plan", "hold one conversation for each of these `NAMES`")
	plain := flag.Bool("raw", false, "speak HTTP without openai-go")
	flag.Parse()
	talk := run
	if *plain {
		talk = runRaw
	}
	if err := talk(context.Background(), *dir, *file, strings.Split(*phases, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run holds the conversations one after another.
func run(ctx context.Context, dir, file string, phases []string) error {
	keep := func(context.Context, any) error { return nil }
	if file != "" {
		db, insert, err := open(ctx, file)
		if err != nil {
			return fmt.Errorf("open %s: %w", file, err)
		}
		defer db.Close() //nolint:errcheck // every insert is on the disk
		keep = insert
	}
	client := openai.NewClient(option.WithMaxRetries(0)) // the server is in the environment
	for _, phase := range phases {
		if err := converse(ctx, &client, phase, dir, keep); err != nil {
			return fmt.Errorf("%s: %w", phase, err)
		}
	}
	return nil
}

// open opens the database and prepares one durable insert.
func open(ctx context.Context, file string) (*sql.DB, func(context.Context, any) error, error) {
	db, err := sql.Open("sqlite3", "file:"+file+"?_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller names the file
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS message (id INTEGER PRIMARY KEY, line "+
		"TEXT)"); err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller names the file
	}
	const query = "INSERT INTO message (line) VALUES (?)"
	insert, err := db.PrepareContext(ctx, query) //nolint:sqlclosecheck // it ends with db
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller names the file
	}
	return db, func(ctx context.Context, message any) error {
		line, err := json.Marshal(message)
		if err == nil {
			_, err = insert.ExecContext(ctx, string(line))
		}
		return err //nolint:wrapcheck // the caller says what was done
	}, nil
}

// converse asks until an answer holds no call.
func converse(
	ctx context.Context,
	client *openai.Client,
	phase, dir string,
	keep func(context.Context, any) error,
) error {
	params := openai.ChatCompletionNewParams{
		Model:    "scripted",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Read the files.")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name:        "read",
			Description: openai.String("Reads a file."),
			Parameters: shared.FunctionParameters{
				"type":       "object",
				"properties": map[string]any{"path": map[string]any{"type": "string"}},
			},
		})},
	}
	for {
		answer, err := ask(ctx, client, phase, params)
		if err != nil {
			return err
		}
		if err := keep(ctx, answer); err != nil {
			return fmt.Errorf("keep the answer: %w", err)
		}
		if len(answer.ToolCalls) == 0 {
			return nil
		}
		params.Messages = append(params.Messages, answer.ToParam())
		for _, call := range answer.ToolCalls {
			result := openai.ToolMessage(read(dir, call.Function.Arguments), call.ID)
			if err := keep(ctx, result); err != nil {
				return fmt.Errorf("keep the result: %w", err)
			}
			params.Messages = append(params.Messages, result)
		}
	}
}

// ask makes one streamed request.
func ask(
	ctx context.Context,
	client *openai.Client,
	phase string,
	params openai.ChatCompletionNewParams,
) (openai.ChatCompletionMessage, error) {
	stream := client.Chat.Completions.NewStreaming(ctx, params, option.WithHeader("X-Plan-Phase", phase))
	defer stream.Close() //nolint:errcheck // it has been read
	var acc openai.ChatCompletionAccumulator
	for stream.Next() {
		acc.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, fmt.Errorf("ask the model: %w", err)
	}
	if len(acc.Choices) == 0 {
		return openai.ChatCompletionMessage{}, fmt.Errorf("the model said nothing")
	}
	return acc.Choices[0].Message, nil
}

// read is the one tool.
func read(dir, args string) string {
	var in struct{ Path string }
	if err := json.Unmarshal([]byte(args), &in); err != nil {
		return err.Error()
	}
	text, err := os.ReadFile(filepath.Join(dir, filepath.Base(in.Path)))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
