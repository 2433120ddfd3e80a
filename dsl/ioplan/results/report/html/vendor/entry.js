// What the page uses of Vega, as one global: `charts`.
export { View, parse, expressionFunction } from "vega";
export { compile } from "vega-lite";
export { expressionInterpreter } from "vega-interpreter";
