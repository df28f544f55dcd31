import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { NPM } from '../npm.js';

const INSTALLS_WITHIN_MS = 5 * 60_000;

/**
 * Installs another project's server from npm into a cache outside this project, one per Node.js ABI, because native modules
 * depend on it.
 * @param scripts dependencies whose install scripts may compile native code
 * @returns the installation directory
 * @throws when the installation fails or takes more than five minutes
 */
export async function npmPeer(
  name: string,
  version: string,
  scripts: readonly string[] = [],
): Promise<string> {
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
  const directory = `${name.replace('/', '-')}-${version}-abi-${process.versions.modules}`;
  const home = join(cache, 'cloud-sync-service', 'peers', directory);
  if (existsSync(home)) return home;
  const draft = `${home}.${process.pid}`;
  await mkdir(draft, { recursive: true });
  const allowScripts = Object.fromEntries(scripts.map((script) => [script, true]));
  await writeFile(join(draft, 'package.json'), JSON.stringify({ private: true, allowScripts }));
  try {
    console.error(`installing ${name} ${version} …`);
    const [npm, ...ofNpm] = NPM;
    const args = [...ofNpm, 'install', '--save-exact', '--no-audit', '--no-fund', `${name}@${version}`];
    await promisify(execFile)(npm, args, { cwd: draft, env: forThisEngine(), timeout: INSTALLS_WITHIN_MS });
    await rename(draft, home);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw new Error('npm cannot install the package here', { cause: error });
  }
  return home;
}

/** Compiles native modules for the Node.js that runs this process, with its own headers if present. */
function forThisEngine(): NodeJS.ProcessEnv {
  const bin = dirname(process.execPath);
  const PATH = [bin, process.env.PATH].join(delimiter);
  const home = dirname(bin);
  const hasHeaders = existsSync(join(home, 'include/node/node.h'));
  return { ...process.env, PATH, ...(hasHeaders && { npm_config_nodedir: home }) };
}
