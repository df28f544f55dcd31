// Location and environment of the servers that scripts/test-servers.sh has unpacked for the tests.
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const prefix =
  process.env.TEST_SERVERS_DIR ??
  join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'cloud-sync-service', 'test-servers');
const triplet = `${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`;
const libraries = [`usr/lib/${triplet}`, `usr/lib/${triplet}/ceph`, `lib/${triplet}`];

export const testServers = {
  isInstalled: existsSync(join(prefix, 'unpacked')),
  environment: {
    TEST_SERVERS_DIR: prefix,
    PATH: [...['usr/bin', 'usr/sbin', 'sbin'].map((path) => join(prefix, path)), process.env.PATH].join(':'),
    LD_LIBRARY_PATH: libraries.map((path) => join(prefix, path)).join(':'),
  },
};
