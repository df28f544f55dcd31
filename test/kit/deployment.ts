import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parse } from 'yaml';

export const ROOT = join(import.meta.dirname, '..', '..');
export const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const FLAGS = pathToFileURL(join(ROOT, 'scripts', 'heap-flags.mjs')).href;

/** Memory and garbage collection flags of `npm start`. */
export const { HEAP_FLAGS } = (await import(FLAGS)) as { readonly HEAP_FLAGS: readonly string[] };

/** The parts of a compose file's service that the tests check. */
export interface ComposeService {
  readonly image: string;
  readonly build?: string;
  readonly user?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly cap_add?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly restart?: string;
  readonly profiles?: readonly string[];
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly (string | ComposeMount)[];
  readonly networks?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly network_mode?: string;
  readonly mem_limit?: string;
  readonly tmpfs?: readonly string[];
  readonly command?: readonly string[];
  readonly logging?: { readonly driver: string; readonly options: Readonly<Record<string, string>> };
  readonly ports?: readonly string[];
  readonly expose?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string; readonly required?: boolean }>>;
  readonly healthcheck?: { readonly test: readonly string[] };
}

export interface ComposeMount {
  readonly type: string;
  readonly source: string;
  readonly target: string;
  readonly volume?: { readonly nocopy?: boolean };
}

export interface Compose {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly networks: Readonly<
    Record<string, { readonly internal?: boolean; readonly enable_ipv6?: boolean }>
  >;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export const compose = parse(text('docker-compose.yml'), { merge: true }) as Compose;

/** Expands `${NAME:-default}` and `${NAME:?message}` like Docker Compose. @throws when a required value is missing */
export function interpolated(value: string, given: Readonly<Record<string, string>>): string {
  return value.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, name: string, kind: string, rest: string) => {
    const found = given[name];
    if (found) return found;
    if (kind === '?') throw new Error(`${name}: ${rest}`);
    return rest;
  });
}

/** One instruction of a Dockerfile, continuation lines joined. */
export interface Instruction {
  readonly name: string;
  readonly rest: string;
}

/** The stages of the Dockerfile, each beginning with its FROM. */
export function dockerfileStages(): Instruction[][] {
  const lines = text('Dockerfile')
    .replace(/\\\n\s*/g, ' ')
    .split('\n')
    .filter((line) => line && !line.startsWith('#'));
  const stages: Instruction[][] = [];
  for (const line of lines) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, rest });
  }
  return stages;
}

/** The JSON array of the last instruction of a kind, in exec form. */
export function execForm(stage: readonly Instruction[], name: string): string[] {
  const { rest = '' } = stage.findLast((instruction) => instruction.name === name) ?? {};
  return JSON.parse(rest.slice(rest.indexOf('['))) as string[];
}
