import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Configuration } from './configuration.js';

/** Provides the one `Configuration` to every module. */
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
