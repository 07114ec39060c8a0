/** The package brings no types. Only what the tests use. */
declare module "parse-prometheus-text-format" {
  export interface Family {
    name: string;
    help: string;
    type: string;
    metrics: {
      value?: string;
      labels?: Record<string, string>;
      count?: string;
      sum?: string;
      buckets?: Record<string, string>;
    }[];
  }
  export default function parsePrometheusTextFormat(text: string): Family[];
}
