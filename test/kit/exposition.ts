import { MetricsServer } from '../../src/platform/metrics.js';
import type { TestService } from './service.js';

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** One sample of a service's metrics. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The answer of GET /metrics, parsed line by line. @throws on a malformed line */
export class Exposition {
  private constructor(
    readonly samples: readonly Sample[],
    readonly text: string,
  ) {}

  static async of(service: TestService): Promise<Exposition> {
    const answer = await fetch(`http://127.0.0.1:${service.app.get(MetricsServer).port}/metrics`);
    if (answer.status !== 200) throw new Error(`GET /metrics answered ${answer.status}`);
    return Exposition.read(await answer.text());
  }

  static read(text: string): Exposition {
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Exposition(lines.map(sampleOf), text);
  }

  /** The sum of the samples with a name and these labels. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number {
    return this.matching(name, labels).reduce((sum, { value }) => sum + value, 0);
  }

  /** The only sample with these labels; undefined when there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    return this.matching(name, labels)[0]?.value;
  }

  private matching(name: string, labels: Readonly<Record<string, string>>): Sample[] {
    const isMeant = (sample: Sample): boolean =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
    return this.samples.filter(isMeant);
  }
}

function sampleOf(line: string): Sample {
  const [, name, labels = '', value] = LINE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not of the format: ${line}`);
  const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']): [string, string] => [
    label,
    text,
  ]);
  return { name, labels: Object.fromEntries(pairs), value: Number(value) };
}
