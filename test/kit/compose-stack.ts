import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseEnv } from 'node:util';
import { compose, dockerfileStages, interpolated, ROOT, text } from './deployment.js';

/** The files that scripts/make-env.sh has written. */
export interface Deployment {
  readonly directory: string;
  readonly dotenv: Readonly<Record<string, string>>;
}

/** Runs scripts/make-env.sh. @param args from the base URL on @throws when the script fails */
export function makeEnv(directory: string, ...args: string[]): Deployment {
  const script = join(ROOT, 'scripts', 'make-env.sh');
  execFileSync(script, [...args, '--directory', directory], { stdio: 'pipe' });
  const dotenv = parseEnv(readFileSync(join(directory, '.env'), 'utf8')) as Record<string, string>;
  return { directory, dotenv };
}

/** The environment that Compose gives to a service, with secrets at the paths where the script has written them. */
export function environmentOf(name: string, { directory, dotenv }: Deployment): Record<string, string> {
  const { environment = {}, env_file: files = [] } = compose.services[name] ?? {};
  const declared = Object.entries(environment).map(([key, value]) => [key, interpolated(value, dotenv)]);
  const all = {
    ...(files.some(({ path }) => path === '.env') ? dotenv : {}),
    ...(Object.fromEntries(declared) as Record<string, string>),
  };
  return Object.fromEntries(
    Object.entries(all).map(([key, value]) => [
      key,
      value.replace('/run/secrets', join(directory, 'secrets')),
    ]),
  );
}

/** The text of a secret that the script has created. */
export const secretOf = ({ directory }: Deployment, name: string): string =>
  readFileSync(join(directory, 'secrets', name), 'utf8');

/** Recreates our files of the image's last stage; packages are links into this tree's. */
export function unpackImage(root: string): void {
  const [, final = []] = dockerfileStages();
  const { packages } = JSON.parse(text('package-lock.json')) as {
    packages: Record<string, { dev?: true; optional?: true; devOptional?: true }>;
  };
  for (const [path, { dev, optional, devOptional }] of Object.entries(packages)) {
    const isInImage = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path) && !dev && !optional && !devOptional;
    if (!isInImage) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    symlinkSync(join(ROOT, path), join(root, path));
  }
  for (const { name, rest } of final) {
    const [source = '', target = ''] = rest.replace('--from=build /build/', '').split(' ');
    if (name !== 'COPY' || source.startsWith('--') || source === 'node_modules') continue;
    cpSync(join(ROOT, source), join(root, target === './' ? source : target), { recursive: true });
  }
}
