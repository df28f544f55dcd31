import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { Exposition } from '../../kit/exposition.js';
import { startService, type TestService } from '../../kit/index.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string }[];
}

const read = (path: string): string => readFileSync(path, 'utf8');
const { groups } = parse(read('ops/prometheus/alerts.yml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const dashboard = JSON.parse(read('ops/grafana/dashboard.json')) as { panels: Panel[] };
const queries = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
);

/** Metrics of Prometheus itself. */
const BUILT_IN = new Set(['up']);
const OUR_LABELS = [
  'kind',
  'method',
  'name',
  'outcome',
  'part',
  'queue',
  'reason',
  'route',
  'state',
  'status',
];
const KNOWN_LABELS = new Set([...OUR_LABELS, 'instance', 'job', 'le']);
const NAME = /\b(?:cloud_sync|nodejs|process)_\w+|\bup\b/g;
const LABELS = /(\w+)\s*(?:=~|!~|!=|=)\s*"/g;

let service: TestService;
let types: Map<string, string>;
beforeAll(async () => {
  service = await startService({ env: { METRICS_PORT: '0' } });
  const { text } = await Exposition.of(service);
  types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
});
afterAll(() => service.close());

function expectKnown(expression: string): void {
  for (const [name] of expression.matchAll(NAME)) {
    if (BUILT_IN.has(name)) continue;
    const base = name.replace(/_(?:bucket|count|sum)$/, '');
    const isHistogram = types.get(base) === 'histogram' && base !== name;
    expect([name, types.has(name) || isHistogram]).toEqual([name, true]);
  }
}

describe('the alerts', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))('%s asks for metrics that exist', (_, rule) => {
    expect(rule.expr).toMatch(NAME);
    expectKnown(rule.expr);
    expect(['page', 'ticket']).toContain(rule.labels.severity);
    expect(rule.annotations.summary).toMatch(/\.$/);
  });

  it('are explained in docs/operate/operations.md, each under its name and no other', () => {
    const rows = [...read('docs/operate/operations.md').matchAll(/^\| `([A-Z][a-z]\w+)` \|/gm)].map(
      ([, name]) => name,
    );
    expect(rows).toEqual(rules.map(({ alert }) => alert));
  });
});

describe('the dashboard', () => {
  it.each(queries)('%s asks for metrics that exist: %s', (_, expr) => {
    expect(expr).toMatch(NAME);
    expectKnown(expr);
  });

  it('asks for labels that exist', () => {
    for (const expr of [...queries.map(([, query]) => query), ...rules.map(({ expr }) => expr)])
      for (const [, label = ''] of expr.matchAll(LABELS)) expect(KNOWN_LABELS).toContain(label);
  });

  it('has panels with unique ids that do not overlap and that query the provisioned data source', () => {
    const { panels } = dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)},${y + Math.floor(i / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    const { datasources } = parse(read('ops/grafana/provisioning/datasources/prometheus.yml')) as {
      datasources: { uid: string }[];
    };
    const uids = new Set(panels.flatMap(({ datasource }) => (datasource ? [datasource.uid] : [])));
    expect([...uids]).toEqual(datasources.map(({ uid }) => uid));
  });

  it('shows every metric of the service', () => {
    const shown = queries.map(([, query]) => query).join(' ');
    const ours = [...types.keys()].filter((name) => name.startsWith('cloud_sync_'));
    expect(ours.filter((name) => !shown.includes(name))).toEqual([]);
  });
});

describe('prometheus.yml', () => {
  it('loads the alerts, and scrapes the port that the compose file sets', () => {
    const config = parse(read('ops/prometheus/prometheus.yml')) as {
      rule_files: string[];
      scrape_configs: { dns_sd_configs: { names: string[]; port: number }[] }[];
    };
    expect(config.rule_files).toEqual(['alerts.yml']);
    const { services } = parse(read('docker-compose.yml')) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    const [target] = config.scrape_configs[0]!.dns_sd_configs;
    expect(String(target!.port)).toBe(services[target!.names[0]!]!.environment.METRICS_PORT);
  });
});
