// A Temporal development server: all services in one process, SQLite, and the Web UI. It takes those flags of the Temporal
// CLI's `temporal server start-dev` that Holdfast uses, so that either program can be the embedded server. Holdfast builds it
// with Go where no `temporal` is found and none can be downloaded.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	clusterName   = "active"
	defaultUIGap  = 1000
	joinDuration  = 30 * time.Second
	cacheSize     = 8096
	visibilityRPS = 100
)

type pairs map[string]string

func (p pairs) String() string { return "" }

func (p pairs) Set(pair string) error {
	name, value, found := strings.Cut(pair, "=")
	if !found || name == "" {
		return errors.New("must be NAME=VALUE")
	}
	p[name] = value
	return nil
}

type names []string

func (n *names) String() string { return "" }

func (n *names) Set(name string) error {
	*n = append(*n, name)
	return nil
}

type options struct {
	ip, database, logLevel       string
	port, uiPort                 int
	headless                     bool
	namespaces                   names
	dynamic, pragmas, attributes pairs
}

func flags(o *options) *flag.FlagSet {
	set := flag.NewFlagSet("temporal server start-dev", flag.ContinueOnError)
	set.StringVar(&o.ip, "ip", "127.0.0.1", "`ADDRESS` to listen on")
	set.IntVar(&o.port, "port", 7233, "`PORT` of gRPC")
	set.IntVar(&o.uiPort, "ui-port", 0, "`PORT` of the Web UI; gRPC's plus 1000 by default")
	set.BoolVar(&o.headless, "headless", false, "no Web UI")
	set.StringVar(&o.database, "db-filename", "", "`FILE` of the database; in memory by default")
	set.Var(&o.namespaces, "namespace", "`NAME` of a namespace besides default, repeatable")
	set.StringVar(&o.logLevel, "log-level", "warn", "`LEVEL`: debug, info, warn, error")
	set.Var(o.dynamic, "dynamic-config-value", "`KEY=JSON`, repeatable")
	set.Var(o.pragmas, "sqlite-pragma", "`NAME=VALUE`, repeatable")
	set.Var(o.attributes, "search-attribute", "`NAME=TYPE`, repeatable: Keyword, Text, Int, Double, Bool, Datetime, KeywordList")
	set.String("env-file", "", "`FILE`: taken for the sake of the Temporal CLI, and not read")
	set.Usage = func() {
		fmt.Println("Usage:\n  temporal server start-dev [flags]\n\nFlags:")
		set.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			fmt.Printf("      --%s %s  %s\n", f.Name, value, usage)
		})
	}
	return set
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 1 && args[0] == "--version" {
		fmt.Println(about())
		return nil
	}
	if len(args) < 2 || args[0] != "server" || args[1] != "start-dev" {
		return errors.New("this is Holdfast's development server: it knows --version and server start-dev, and no other command of the Temporal CLI (https://docs.temporal.io/cli)")
	}
	o := options{dynamic: pairs{}, pragmas: pairs{}, attributes: pairs{}}
	set := flags(&o)
	if err := set.Parse(args[2:]); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if set.NArg() > 0 {
		return fmt.Errorf("unknown argument %q", set.Arg(0))
	}
	return serve(&o)
}

func about() string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			versions[module.Path] = strings.TrimPrefix(module.Version, "v")
		}
	}
	return fmt.Sprintf("temporal version 1.0.0-holdfast (Server %s, UI %s)",
		versions["go.temporal.io/server"], versions["github.com/temporalio/ui-server/v2"])
}

func serve(o *options) error {
	conf, err := configuration(o)
	if err != nil {
		return err
	}
	if err := prepareDatabase(o, conf); err != nil {
		return err
	}
	dynamic, err := dynamicConfiguration(o)
	if err != nil {
		return err
	}
	logger := log.NewZapLogger(log.BuildZapLogger(log.Config{Level: o.logLevel}))
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return fmt.Errorf("authorizer: %w", err)
	}
	claims, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger)
	if err != nil {
		return fmt.Errorf("claim mapper: %w", err)
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for name, service := range conf.Services {
		hosts[primitives.ServiceName(name)] = static.SingleLocalHost(address(o.ip, service.RPC.GRPCPort))
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamic),
	)
	if err != nil {
		return err
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	failed := make(chan error, 1)
	if !o.headless {
		ui := webUI(o)
		go func() { failed <- ui.Start() }()
		defer ui.Stop()
		if err := awaitListener(uiAddress(o), failed); err != nil {
			return err
		}
	}
	if err := server.Start(); err != nil {
		return err
	}
	select {
	case <-ended:
	case err = <-failed:
	}
	if stopped := server.Stop(); err == nil {
		err = stopped
	}
	return err
}

func uiPort(o *options) int {
	if o.uiPort == 0 {
		return o.port + defaultUIGap
	}
	return o.uiPort
}

func uiAddress(o *options) string { return address(o.ip, uiPort(o)) }

// awaitListener lets the Web UI listen before gRPC does: whoever reaches gRPC may open the UI.
func awaitListener(at string, failed <-chan error) error {
	for deadline := time.Now().Add(joinDuration); time.Now().Before(deadline); {
		connection, err := net.DialTimeout("tcp", at, time.Second)
		if err == nil {
			return connection.Close()
		}
		select {
		case err := <-failed:
			return fmt.Errorf("web UI: %w", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return fmt.Errorf("the web UI doesn't listen at %s", at)
}

func webUI(o *options) *uiserver.Server {
	return uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                o.ip,
		Port:                uiPort(o),
		TemporalGRPCAddress: address(o.ip, o.port),
		EnableUI:            true,
		CORS:                uiconfig.CORS{CookieInsecure: true},
		HideLogs:            true,
	}))
}

func configuration(o *options) (*config.Config, error) {
	database := &config.SQL{PluginName: sqlite.PluginName, ConnectAttributes: map[string]string{}}
	if o.database == "" {
		database.DatabaseName = strconv.Itoa(os.Getpid())
		database.ConnectAttributes["mode"] = "memory"
		database.ConnectAttributes["cache"] = "shared"
	} else {
		database.DatabaseName = o.database
		database.ConnectAttributes["mode"] = "rwc"
	}
	for name, value := range o.pragmas {
		database.ConnectAttributes[name] = value
	}
	conf := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     "sqlite",
			VisibilityStore:  "sqlite",
			NumHistoryShards: 1,
			DataStores:       map[string]config.DataStore{"sqlite": {SQL: database}},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address(o.ip, o.port)},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            map[string]config.Service{},
		PublicClient:        config.PublicClient{HostPort: address(o.ip, o.port)},
	}
	conf.Global.Membership = config.Membership{MaxJoinDuration: joinDuration, BroadcastAddress: o.ip}
	conf.Archival.History.State = "disabled"
	conf.Archival.Visibility.State = "disabled"
	conf.NamespaceDefaults.Archival.History.State = "disabled"
	conf.NamespaceDefaults.Archival.Visibility.State = "disabled"
	ports, err := freePorts(o.ip, 3)
	if err != nil {
		return nil, err
	}
	for i, name := range []primitives.ServiceName{
		primitives.FrontendService, primitives.HistoryService, primitives.MatchingService, primitives.WorkerService,
	} {
		port := append([]int{o.port}, ports...)[i]
		conf.Services[string(name)] = config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: o.ip}}
	}
	return conf, nil
}

// prepareDatabase makes the schema of a new file, and the namespaces with their search attributes.
func prepareDatabase(o *options, conf *config.Config) error {
	database := conf.Persistence.DataStores["sqlite"].SQL
	if o.database != "" {
		if _, err := os.Stat(o.database); errors.Is(err, os.ErrNotExist) {
			if err := sqliteschema.SetupSchema(database); err != nil {
				return fmt.Errorf("schema: %w", err)
			}
		}
	}
	attributes := map[string]enumspb.IndexedValueType{}
	for name, kind := range o.attributes {
		value, err := enumspb.IndexedValueTypeFromString(kind)
		if err != nil {
			return fmt.Errorf("search attribute %s: %w", name, err)
		}
		attributes[name] = value
	}
	for _, name := range append(names{"default"}, o.namespaces...) {
		namespace, err := sqliteschema.NewNamespaceConfig(clusterName, name, false, attributes)
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
		if err := sqliteschema.CreateNamespaces(database, namespace); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}

func dynamicConfiguration(o *options) (dynamicconfig.StaticClient, error) {
	values := dynamicconfig.StaticClient{
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                 cacheSize,
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): visibilityRPS,
	}
	for name, text := range o.dynamic {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return nil, fmt.Errorf("--dynamic-config-value %s: %w", name, err)
		}
		values[dynamicconfig.MakeKey(name)] = withIntegers(value)
	}
	return values, nil
}

// withIntegers turns whole numbers into int: the server passes over a setting of type int whose value is a float64.
func withIntegers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if whole, err := strconv.Atoi(value.String()); err == nil {
			return whole
		}
		broken, _ := value.Float64()
		return broken
	case []any:
		for i, item := range value {
			value[i] = withIntegers(item)
		}
	case map[string]any:
		for name, item := range value {
			value[name] = withIntegers(item)
		}
	}
	return value
}

func address(ip string, port int) string { return net.JoinHostPort(ip, strconv.Itoa(port)) }

// freePorts holds all of them until each is found, so that none comes twice.
func freePorts(ip string, count int) ([]int, error) {
	ports := make([]int, 0, count)
	for range count {
		listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
		if err != nil {
			return nil, fmt.Errorf("no free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
