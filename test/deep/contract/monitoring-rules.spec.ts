import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { stringify } from 'yaml';
import { isRequired, servers } from '../../kit/test-servers.js';

const environment = { ...process.env, ...servers.environment };

function isInstalled(program: string): boolean {
  return (environment.PATH ?? '').split(delimiter).some((directory) => existsSync(join(directory, program)));
}

/** Skips the tests, with one line, when the program is not installed; in CI they fail instead. */
function describeWith(program: string, name: string, tests: () => void): void {
  if (isInstalled(program) || isRequired) {
    describe(name, tests);
    return;
  }
  process.stderr.write(`skipped: ${name}: ${program} is not installed, see scripts/test-servers.sh\n`);
  describe.skip(name, tests);
}

function expectGood(program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(program, args, { env: environment, encoding: 'utf8' });
  expect({ status, output: status === 0 ? '' : `${stdout}${stderr}` }).toEqual({ status: 0, output: '' });
}

interface Dashboard {
  readonly panels: readonly {
    readonly title: string;
    readonly type: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

/** The queries of the dashboard, as Grafana sends them. */
const queries = (JSON.parse(readFileSync('ops/grafana/dashboard.json', 'utf8')) as Dashboard).panels.flatMap(
  ({ title, type, targets = [] }) =>
    targets.map(({ expr }) => ({
      title,
      type,
      expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
    })),
);

/** Queries of events: without events the value is 0, not a gap. */
const counts = queries.filter(({ type, expr }) => type === 'timeseries' && /^sum\b.*_total\b/.test(expr));

describeWith('promtool', 'with the rules of Prometheus', () => {
  let directory: string;
  beforeAll(() => (directory = mkdtempSync(join(tmpdir(), 'promtool-'))));
  afterAll(() => rmSync(directory, { recursive: true }));

  it('alerts fire when they should, and only then', () => {
    expectGood('promtool', 'test', 'rules', 'test/deep/contract/monitoring/alerts.test.yml');
  });

  it('the configuration is valid', () => {
    expectGood('promtool', 'check', 'config', 'ops/prometheus/prometheus.yml');
  });

  it('all queries of the dashboard are valid', () => {
    const rules = queries.map(({ expr }, i) => ({ record: `query:${i}`, expr }));
    const file = join(directory, 'queries.yml');
    writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
    expectGood('promtool', 'check', 'rules', file);
  });

  it('panels of events show 0 when there were none', () => {
    expect(counts.length).toBeGreaterThan(8);
    const file = join(directory, 'zero.test.yml');
    const tests = counts.map(({ title, expr }) => ({
      name: title,
      promql_expr_test: [{ expr, eval_time: '5m', exp_samples: [{ labels: '{}', value: 0 }] }],
    }));
    writeFileSync(file, stringify({ tests }));
    expectGood('promtool', 'test', 'rules', file);
  });
});

describeWith('amtool', 'with Alertmanager', () => {
  it('the sample configuration is valid', () => {
    expectGood('amtool', 'check-config', 'ops/alertmanager/alertmanager.yml');
  });
});
