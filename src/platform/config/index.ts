import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Configuration } from './configuration.js';

export { type BackupStore, Configuration } from './configuration.js';
export { configurationOfProcess, knownVariables, loadConfiguration } from './load.js';
export { envExample } from './env-file.js';
export { OperatorError } from './operator-error.js';
export { VERSION, warningsAbout } from './warnings.js';
export { isSecureAddress } from './validators.js';
export {
  addressIn,
  isInS3,
  readUrl,
  type S3Address,
  s3Address,
  type SmtpServer,
  smtpServerIn,
} from './database-parameters.js';
export {
  chownDirectory,
  diskFull,
  explainedByDataDir,
  intendedOwnerOf,
  keptSecret,
  keptText,
  makeDirectories,
  makeFileForIntendedOwner,
  removeTree,
  syncDirectory,
  writeDurably,
} from './data-dir-files.js';

@Global()
@Module({})
export class ConfigurationModule {
  static with(configuration: Configuration): DynamicModule {
    return {
      module: ConfigurationModule,
      providers: [{ provide: Configuration, useValue: configuration }],
      exports: [Configuration],
    };
  }
}
