(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(module (expression_statement (assignment left: (identifier) @name) @variable))
(module (type_alias_statement left: (type (identifier) @name)) @type)
