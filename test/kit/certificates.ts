import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Certificates {
  /** Certificate of an authority that no other program trusts. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Creates a certificate authority and a server certificate for these names, both valid for two days. */
export function createCertificates(...names: string[]): Certificates {
  const directory = mkdtempSync(join(tmpdir(), 'certificates-'));
  const at = (file: string): string => join(directory, file);
  const openssl = (...args: string[]): Buffer => execFileSync('openssl', args, { stdio: 'pipe' });
  try {
    openssl(
      'req',
      '-x509',
      ...EC_KEY,
      '-days',
      '2',
      '-subj',
      '/CN=Test CA',
      '-keyout',
      at('ca.key'),
      '-out',
      at('ca.pem'),
    );
    openssl(
      'req',
      '-new',
      ...EC_KEY,
      '-subj',
      `/CN=${names[0]}`,
      '-keyout',
      at('key.pem'),
      '-out',
      at('csr.pem'),
    );
    writeFileSync(at('san.ext'), `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`);
    const signing = ['-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '2'];
    openssl(
      'x509',
      '-req',
      '-in',
      at('csr.pem'),
      ...signing,
      '-extfile',
      at('san.ext'),
      '-out',
      at('cert.pem'),
    );
    const read = (file: string): string => readFileSync(at(file), 'utf8');
    return { ca: read('ca.pem'), cert: read('cert.pem'), key: read('key.pem') };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
