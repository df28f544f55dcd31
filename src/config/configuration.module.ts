import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Configuration } from './configuration.js';

/** Makes the one configuration injectable everywhere. */
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
